/** Makes an object with a `then` of its own, as drivers without native promises return it. */
export function thenable(then: PropertyDescriptor): PromiseLike<never> {
  const name: string = 'then'
  return Object.defineProperty({}, name, then) as PromiseLike<never>
}
