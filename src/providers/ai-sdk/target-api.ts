import { idForClaude } from '../../conversation/call-ids.js'
import type { NameRule } from '../../conversation/tool-names.js'
import { type FittingId, idForChats, idForMistral, idForResponses } from '../openai-input/call-ids.js'
import { TOOL_NAMES } from '../tool-names.js'

/** The names that a prompt depends on. */
export interface ModelNames {
  readonly provider: string
  readonly modelId: string
}

export function isClaude({ modelId, provider }: ModelNames): boolean {
  return provider.includes('anthropic') || modelId.includes('claude')
}

export function isGemini(model: ModelNames): boolean {
  return model.provider.startsWith('google') && !isClaude(model)
}

/** The API that a package speaks, as far as its name of the provider shows it, such as `openai.responses`. */
export type TargetApi = 'chat' | 'responses' | 'messages' | 'other'

export function apiOf({ provider }: ModelNames): TargetApi {
  if (provider.startsWith('google')) return provider.endsWith('.messages') ? 'messages' : 'other'
  const ending = provider.slice(provider.lastIndexOf('.') + 1)
  return ending === 'chat' || ending === 'responses' || ending === 'messages' ? ending : 'other'
}

/** Returns the names of tools that a model takes. Those of an unknown API get names that every API takes. */
export function namesOf(model: ModelNames): NameRule {
  const api = apiOf(model)
  return api === 'other' ? TOOL_NAMES.plain : TOOL_NAMES[api]
}

/** Returns the ids of calls that a model takes. */
export function callIdOf(model: ModelNames): FittingId {
  if (isClaude(model)) return idForClaude
  if (model.provider.startsWith('mistral')) return idForMistral
  return apiOf(model) === 'responses' ? idForResponses : idForChats
}

/** The Responses API rejects a smaller output limit. */
export const LEAST_RESPONSES_OUTPUT = 16

/** Returns the smallest output limit that a model takes. */
export function leastOutputOf(model: ModelNames): number {
  return apiOf(model) === 'responses' ? LEAST_RESPONSES_OUTPUT : 1
}
