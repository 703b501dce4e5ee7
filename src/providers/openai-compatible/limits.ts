import { createHash } from 'node:crypto'
import { effortOfBudget } from '../../conversation/effort.js'
import type { ChatRequest } from '../../protocol/chat-request.js'
import { lacksProperties, withProperties } from '../../protocol/exact-data.js'
import { isObject, isText, type JsonObject } from '../../protocol/json-values.js'

/** The most characters of a label at OpenAI, which refuses a request with a longer one. */
const MOST_LABEL_CHARS = 64
const LABELS = ['user', 'safety_identifier', 'prompt_cache_key'] as const
/** Fields that OpenAI refuses without tools. */
const OF_TOOLS = ['tool_choice', 'parallel_tool_calls'] as const

/**
 * Returns the fields of a request, of a chat or of the Responses API, that must change so that OpenAI and providers as
 * strict take it. Clients of other APIs send what those accept: long labels of users, settings of tools without tools,
 * and tools without properties. A field to omit is undefined.
 */
export function fittingFields(request: JsonObject): JsonObject {
  const changed: JsonObject = {}
  for (const name of LABELS) {
    const label = request[name]
    if (isText(label) && label.length > MOST_LABEL_CHARS) changed[name] = digestOf(label)
  }
  const { functions, tools } = request
  if (Array.isArray(tools) && tools.length > 0) {
    const fitting = tools.map(fittingTool)
    if (fitting.some((tool, index) => tool !== tools[index])) changed.tools = fitting
  } else if (functions === undefined) {
    for (const name of OF_TOOLS) if (request[name] !== undefined) changed[name] = undefined
  }
  return changed
}

/** A digest has 64 characters. The same user has the same one in every request. */
function digestOf(label: string): string {
  return createHash('sha256').update(label).digest('hex')
}

/** Returns a tool whose schema has properties. A chat keeps it in `function`, the Responses API in the tool itself. */
function fittingTool(tool: unknown): unknown {
  if (!isObject(tool)) return tool
  if (isObject(tool.function)) {
    const fitting = withSchema(tool.function)
    return fitting === tool.function ? tool : { ...tool, function: fitting }
  }
  return tool.type === 'function' ? withSchema(tool) : tool
}

function withSchema(definition: JsonObject): JsonObject {
  const { parameters } = definition
  if (!lacksProperties(parameters)) return definition
  return { ...definition, parameters: withProperties(parameters) }
}

/** Which fields of a chat a provider gets, as far as it does not know all of them. */
export interface FieldForm {
  /** Fields that it does not know, and that the request can do without. */
  readonly omitted: readonly string[]
  /** Whether it knows `seed` as `random_seed`. */
  readonly randomSeed: boolean
  /** Whether it knows `reasoning_effort`, but no `reasoning`. */
  readonly effortAlone: boolean
  /** The most stop sequences that it takes. */
  readonly mostStops: number
}

/** The form for providers that know all fields. */
export const ALL_FIELDS: FieldForm = {
  omitted: [],
  randomSeed: false,
  effortAlone: false,
  mostStops: Number.POSITIVE_INFINITY,
}

/** The most stop sequences that OpenAI takes. */
const MOST_STOPS = 4
/** The limits of providers that are known by their hosts. All others show theirs by a refusal. */
const OF_HOSTS: ReadonlyMap<string, Partial<FieldForm>> = new Map([
  ['api.openai.com', { effortAlone: true, mostStops: MOST_STOPS }],
  ['api.groq.com', { effortAlone: true, mostStops: MOST_STOPS }],
  ['api.mistral.ai', { effortAlone: true, randomSeed: true }],
  ['generativelanguage.googleapis.com', { effortAlone: true }],
])

export function fieldsAt(hostname: string): FieldForm {
  return { ...ALL_FIELDS, ...OF_HOSTS.get(hostname) }
}

/** Returns the fields that must change so that a provider knows them. A field to omit is undefined. */
export function knownFields(request: ChatRequest, form: FieldForm): JsonObject {
  const { effortAlone, mostStops, omitted, randomSeed } = form
  const { reasoning, seed } = request
  const known: JsonObject = randomSeed && seed !== undefined ? { seed: undefined, random_seed: seed } : {}
  if (effortAlone && isObject(reasoning)) {
    known.reasoning = undefined
    known.reasoning_effort = request.reasoning_effort ?? effortOf(reasoning)
  }
  if (hasMoreStops(request, mostStops)) known.stop = request.stop.slice(0, mostStops)
  for (const name of omitted) known[name] = undefined
  return known
}

export function hasMoreStops(
  request: ChatRequest,
  most: number,
): request is ChatRequest & { readonly stop: readonly unknown[] } {
  return Array.isArray(request.stop) && request.stop.length > most
}

function effortOf({ effort, enabled, max_tokens: budget }: JsonObject): unknown {
  if (enabled === false || budget === 0) return 'none'
  if (isText(effort)) return effort
  if (typeof budget === 'number') return effortOfBudget(budget)
  return enabled === true ? 'medium' : undefined
}
