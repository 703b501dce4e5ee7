/** Calls every listener, even after one throws. Then throws the first error. */
export function tellAll<Listener>(
  listeners: ReadonlySet<Listener>,
  tell: (listener: Listener) => void,
): void {
  const errors: unknown[] = []
  for (const listener of [...listeners]) {
    try {
      tell(listener)
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}
