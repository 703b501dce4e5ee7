import type { Json } from '../conversations/shape.js'

/** A tool that an agent offers to the model, as its provider got it. */
export interface OfferedTool {
  readonly name: string
  /** Whether it takes a text instead of JSON. */
  readonly isCustom: boolean
  readonly properties: Json
  readonly required: readonly string[]
}

const objects = (value: unknown): readonly Json[] => (Array.isArray(value) ? value : [])
const object = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})

/** The tools of a request of any API, in all of which the router names each by itself. */
export function offeredTools(body: unknown): OfferedTool[] {
  return objects(object(body).tools).map((tool) => {
    // Chats have the definition of a tool in a member of its own.
    const definition = object(tool.function ?? tool.custom ?? tool)
    const schema = object(definition.parameters ?? definition.input_schema)
    return {
      name: String(definition.name),
      isCustom: tool.type === 'custom',
      properties: object(schema.properties),
      required: Array.isArray(schema.required) ? schema.required.map(String) : [],
    }
  })
}
