/** Makes the fields writable, for an object that is built field by field. */
export type Mutable<Shape> = { -readonly [Field in keyof Shape]: Shape[Field] }
