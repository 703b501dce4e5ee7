/** An object while it is being made, field by field. */
export type Mutable<Shape> = { -readonly [Field in keyof Shape]: Shape[Field] }
