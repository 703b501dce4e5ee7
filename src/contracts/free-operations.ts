/** The operations that have events and cost nothing. Every other one is charged. */
const FREE_OPERATIONS: ReadonlySet<string> = new Set(['list-models', 'get-model'])

/** Whether an event is about a charged operation, by the name that it has. */
export function isChargedOperation(name: string): boolean {
  return !FREE_OPERATIONS.has(name)
}
