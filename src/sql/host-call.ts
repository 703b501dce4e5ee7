/**
 * Calls a function of the host and ignores its result. If it throws or rejects, a process warning says so: it must neither
 * end the process nor keep other listeners from being called.
 */
export function callHost(name: string, call: () => unknown): void {
  try {
    const result = call()
    if (result instanceof Promise) result.catch((error: unknown) => warn(name, error))
  } catch (error) {
    warn(name, error)
  }
}

function warn(name: string, error: unknown): void {
  const why = error instanceof Error ? `: ${error.name}: ${error.message}` : ''
  process.emitWarning(`${name} of compat-router's durable stores failed${why}`)
}
