import type { ProviderEvent } from '../../contracts/index.js'
import { isObject, type JsonObject, textOf } from '../../protocol/json-values.js'

/** The request field that asked for each option of a call, by the option's name in warnings. */
export type AskedFields = ReadonlyMap<string, string>

/**
 * Reports each field whose option the package warns that it ignored. Other warnings do not matter: hints, deprecations,
 * and warnings about options that no field asked for.
 *
 * A package warns after the provider has answered and billed. Rejecting the reply would let a caller run up the
 * provider's bill for free, so the reply goes on.
 */
export function ignoredFields(warnings: unknown, asked: AskedFields): ProviderEvent[] {
  if (!Array.isArray(warnings)) return []
  const fields = warnings.filter(isObject).map((warning) => asked.get(ignoredOption(warning) ?? ''))
  return [...new Set(fields)]
    .filter((field) => field !== undefined)
    .map((field) => ({ type: 'mended', kind: 'parameter-ignored', dropped: field }))
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
