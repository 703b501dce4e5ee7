type Present<Value> = {
  [Name in keyof Value as undefined extends Value[Name] ? never : Name]: Value[Name]
} & {
  [Name in keyof Value as undefined extends Value[Name] ? Name : never]?: Exclude<Value[Name], undefined>
}

/** Returns an object without those members that are undefined. */
export function present<Value extends object>(value: Value): Present<Value> {
  return Object.fromEntries(
    Object.entries(value).filter(([, member]) => member !== undefined),
  ) as Present<Value>
}
