/** Where every router under test is mounted. */
export const MOUNT = '/compat/v1'
export const UPSTREAM_MODEL = 'gpt-4o-mini'

/** The model of one number. */
export function modelOf(number: number): string {
  return number === 0 ? 'openai/gpt-4o-mini' : `bench/model-${number}`
}

export const MODEL = modelOf(0)

/** The API key of one number, as long as real ones are. */
export function tokenOf(number: number): string {
  return `sk-bench-${String(number).padStart(39, '0')}`
}
