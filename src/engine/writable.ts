/** An object while it is being made, field by field. */
export type Writable<Shape> = { -readonly [Field in keyof Shape]: Shape[Field] }
