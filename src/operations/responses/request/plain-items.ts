import type { JsonObject } from '../../../protocol/json-values.js'
import { flatName, TOOL_SEARCH } from './tool-names.js'

export interface PlainItems {
  readonly items: readonly JsonObject[]
  /** Tools that the client has found by searches, or added later. The model can call them from then on. */
  readonly found: readonly JsonObject[]
}

/** Tools that OpenAI defines and a client runs: the name of each, and the member of its call that says what to do. */
const DEFINED_CALLS: ReadonlyMap<unknown, { readonly name: string; readonly input: string }> = new Map([
  ['local_shell_call', { name: 'local_shell', input: 'action' }],
  ['shell_call', { name: 'shell', input: 'action' }],
  ['apply_patch_call', { name: 'apply_patch', input: 'operation' }],
])

/**
 * Returns checked items with calls that every provider knows: without namespaces, and with tool searches and the calls of
 * OpenAI's own tools as function calls.
 */
export function toPlainItems(items: readonly JsonObject[]): PlainItems {
  const plain = new PlainList()
  for (const item of items) plain.add(item)
  return plain
}

class PlainList implements PlainItems {
  readonly items: JsonObject[] = []
  readonly found: JsonObject[] = []
  /** The ids of calls by those of their items. The output of a local shell names its call by either. */
  private readonly callIds = new Map<unknown, unknown>()

  add(item: JsonObject): void {
    const { call_id: id, type } = item
    switch (type) {
      case 'function_call':
      case 'custom_tool_call':
        this.items.push(item.namespace === undefined ? item : withFlatName(item))
        return
      case 'tool_search_call':
        if (id !== undefined) this.addCall(id, TOOL_SEARCH, item.arguments)
        return
      case 'tool_search_output': {
        const tools = this.addTools(item)
        if (id !== undefined) this.addResult(id, describeFound(tools))
        return
      }
      case 'additional_tools':
        this.addTools(item)
        return
      case 'local_shell_call_output':
        this.addResult(id ?? this.callIds.get(item.id) ?? item.id, item.output)
        return
      case 'shell_call_output':
      case 'apply_patch_call_output':
        this.addResult(id, item.output)
        return
    }
    const defined = DEFINED_CALLS.get(type)
    if (defined === undefined) {
      this.items.push(item)
      return
    }
    this.callIds.set(item.id, id)
    this.addCall(id, defined.name, item[defined.input])
  }

  private addCall(id: unknown, name: string, input: unknown): void {
    const args = typeof input === 'string' ? input : JSON.stringify(input)
    this.items.push({ type: 'function_call', call_id: id, name, arguments: args })
  }

  private addResult(id: unknown, output: unknown): void {
    const text = typeof output === 'string' ? output : (JSON.stringify(output) ?? '')
    this.items.push({ type: 'function_call_output', call_id: id, output: text })
  }

  private addTools({ tools }: JsonObject): readonly JsonObject[] {
    const added = tools as readonly JsonObject[]
    for (const tool of added) this.found.push(tool)
    return added
  }
}

function withFlatName({ namespace, ...plain }: JsonObject): JsonObject {
  plain.name = flatName(namespace as string, plain.name as string)
  return plain
}

/** Returns the result of a search. The tools themselves are sent with the tools of the request. */
function describeFound(tools: readonly JsonObject[]): string {
  const names = tools.flatMap(({ name, tools: inner, type }) =>
    type === 'namespace'
      ? (inner as readonly JsonObject[]).map((tool) => flatName(name as string, tool.name as string))
      : [type === 'tool_search' ? TOOL_SEARCH : (name as string)],
  )
  return names.length === 0 ? 'No tool was found.' : `These tools can be called now: ${names.join(', ')}`
}
