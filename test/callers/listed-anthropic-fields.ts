import { isObject, type Json, type JsonObject } from './json.js'
import type { Listing } from './listed-fields.js'

/** The names that may reach a provider with Anthropic's API, at any depth except in schemas and arguments. */
const TOP = new Set(
  'model max_tokens system messages tools tool_choice stop_sequences thinking output_config context_management metadata temperature top_p top_k stream cache_control'.split(
    ' ',
  ),
)
const BLOCKS: Readonly<Record<string, string>> = {
  text: 'text',
  image: 'source',
  document: 'source title',
  tool_use: 'id name input',
  tool_result: 'tool_use_id content is_error',
  thinking: 'thinking signature',
  redacted_thinking: 'data',
}
const TOOL = new Set('name description input_schema strict cache_control type'.split(' '))

/** Paths in an arrived request that are not allowed, each with the reason. */
export function unlistedInAnthropic(
  body: JsonObject,
  { named, pricesCacheWrites }: Listing,
  isCount = false,
): readonly string[] {
  const found: string[] = []
  const cache = (value: Json | undefined, where: string): void => {
    if (value === undefined || value === null) return
    if (!pricesCacheWrites) found.push(`${where} is not priced`)
    else if (!isObject(value) || value.type !== 'ephemeral' || (value.ttl ?? '5m') !== '5m') {
      found.push(`${where} is ${JSON.stringify(value)}`)
    }
  }
  const blocks = (value: Json | undefined, where: string): void => {
    if (value === undefined || typeof value === 'string') return
    for (const [index, block] of (value as readonly Json[]).entries()) {
      const at = `${where}.${index}`
      const type = isObject(block) ? String(block.type) : ''
      if (!isObject(block) || !Object.hasOwn(BLOCKS, type)) {
        found.push(`${at} is a block of type ${type}`)
        continue
      }
      const known = new Set(['type', 'cache_control', ...BLOCKS[type]!.split(' ')])
      for (const name of Object.keys(block)) if (!known.has(name)) found.push(`${at}.${name} is not listed`)
      cache(block.cache_control, `${at}.cache_control`)
      if (type === 'tool_result') blocks(block.content, `${at}.content`)
    }
  }
  for (const name of Object.keys(body)) {
    if (!TOP.has(name) && !named.includes(name)) found.push(`${name} is not listed`)
  }
  if (!isCount && !Number.isSafeInteger(body.max_tokens)) found.push('max_tokens has a wrong type')
  cache(body.cache_control, 'cache_control')
  blocks(body.system, 'system')
  for (const [index, message] of (body.messages as readonly JsonObject[]).entries()) {
    blocks(message.content, `messages.${index}.content`)
  }
  for (const [index, tool] of ((body.tools ?? []) as readonly JsonObject[]).entries()) {
    for (const name of Object.keys(tool))
      if (!TOOL.has(name)) found.push(`tools.${index}.${name} is not listed`)
    if (tool.type !== undefined && tool.type !== 'custom')
      found.push(`tools.${index} is of type ${tool.type}`)
    cache(tool.cache_control, `tools.${index}.cache_control`)
  }
  return found
}
