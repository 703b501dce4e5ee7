import { isObject, type JsonObject, textOf } from '../../protocol/json-values.js'
import { unsupported } from '../openai-input/unsupported.js'

/** The request field that asked for each option of a call, by the option's name in warnings. */
export type AskedFields = ReadonlyMap<string, string>

/**
 * Rejects a request if the package warns that it ignored an option that a field asked for. Other warnings do not
 * matter: hints, deprecations, and warnings about options that no field asked for.
 */
export function rejectIgnored(warnings: unknown, asked: AskedFields): void {
  if (!Array.isArray(warnings)) return
  for (const warning of warnings.filter(isObject)) {
    const field = asked.get(ignoredOption(warning) ?? '')
    if (field === undefined) continue
    throw unsupported(
      field,
      `${field}: this parameter, or this value of it, is not supported by this provider.`,
    )
  }
}

/** Version 2 has one type for settings and one for tools. Later versions have one for both. */
function ignoredOption({ type, setting, tool, feature }: JsonObject): string | undefined {
  switch (type) {
    case 'unsupported-setting':
      return textOf(setting)
    case 'unsupported-tool':
      return isObject(tool) && tool.type === 'function' ? 'tools' : undefined
    case 'unsupported': {
      const name = textOf(feature)
      return name?.startsWith('function tool ') ? 'tools' : name
    }
    default:
      return undefined
  }
}
