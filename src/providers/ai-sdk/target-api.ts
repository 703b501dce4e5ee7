import type { NameRule } from '../../conversation/tool-names.js'
import { TOOL_NAMES } from '../tool-names.js'
import type { ModelNames } from './signatures.js'

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
