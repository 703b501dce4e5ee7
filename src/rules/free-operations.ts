/** The operations that have events but cost nothing. Every other operation is charged. */
const FREE_OPERATIONS: ReadonlySet<string> = new Set([
  'list-models',
  'get-model',
  'count-message-tokens',
  'get-key',
  'get-credits',
  'get-generation',
])

/** Whether the operation of an event is charged. */
export function isChargedOperation(name: string): boolean {
  return !FREE_OPERATIONS.has(name)
}
