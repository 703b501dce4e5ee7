import { isObject, type JsonObject, textOf } from '../../protocol/json-values.js'
import { unsupported } from '../openai-input/unsupported.js'

/** The field of the request that asked for each option of a call, by the names that warnings have for options. */
export type AskedFields = ReadonlyMap<string, string>

/**
 * Refuses a request of which the package says that it left out what a field asks for. Other warnings fail no call: hints,
 * deprecations, and what is said of options that no field asked for.
 */
export function refuseLeftOut(warnings: unknown, asked: AskedFields): void {
  if (!Array.isArray(warnings)) return
  for (const warning of warnings.filter(isObject)) {
    const field = asked.get(leftOutBy(warning) ?? '')
    if (field === undefined) continue
    throw unsupported(
      field,
      `${field}: this parameter, or this value of it, is not supported by this provider.`,
    )
  }
}

/** Version 2 has a type for settings and one for tools; later ones have one for both. */
function leftOutBy({ type, setting, tool, feature }: JsonObject): string | undefined {
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
