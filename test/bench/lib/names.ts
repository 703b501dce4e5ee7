/** The path at which every router under test is mounted. */
export const MOUNT = '/compat/v1'
export const UPSTREAM_MODEL = 'gpt-4o-mini'

/** The name of the model with this number. */
export function modelOf(number: number): string {
  return number === 0 ? 'openai/gpt-4o-mini' : `bench/model-${number}`
}

export const MODEL = modelOf(0)

/** The API key with this number, as long as a real one. */
export function tokenOf(number: number): string {
  return `sk-bench-${String(number).padStart(39, '0')}`
}
