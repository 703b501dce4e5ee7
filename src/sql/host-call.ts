/**
 * Calls a function of the host's, whose answer nobody needs. What it throws or rejects with becomes a warning: it must
 * neither end the process nor keep others from being told.
 */
export function callHost(what: string, call: () => unknown): void {
  try {
    const result = call()
    if (result instanceof Promise) result.catch((error: unknown) => warn(what, error))
  } catch (error) {
    warn(what, error)
  }
}

function warn(what: string, error: unknown): void {
  const why = error instanceof Error ? `: ${error.name}: ${error.message}` : ''
  process.emitWarning(`${what} of compat-router's durable stores failed${why}`)
}
