/** Tells every listener, also those after one that throws; then throws what the first one threw. */
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
