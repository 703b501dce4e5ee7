import { CompatError } from '../../base/errors.js'

const ONE_MODEL = 'A request names one model in `model`; use `routing` to choose the provider that serves it'
const OWN_ENDPOINT = 'The host decides where a request goes, and with which credential'
const ONE_BOUND = 'Use `max_completion_tokens` to limit the output'

/** Fields that no host can allow, because the provider could serve a different model or bill differently. */
export const REFUSED_FIELDS: ReadonlyMap<string, string> = new Map([
  ['models', ONE_MODEL],
  ['route', ONE_MODEL],
  ['fallbacks', ONE_MODEL],
  ['preset', ONE_MODEL],
  ['api_key', `${OWN_ENDPOINT}; use \`provider\` and \`provider_key\` to call with your own key`],
  ['api_base', OWN_ENDPOINT],
  ['base_url', OWN_ENDPOINT],
  ['extra_body', 'Put its fields into the request itself'],
  ['extra_headers', OWN_ENDPOINT],
  ['mock_response', 'Mock replies are not supported'],
  ['max_output_tokens', ONE_BOUND],
  ['max_new_tokens', ONE_BOUND],
  ['n_predict', ONE_BOUND],
  ['num_predict', ONE_BOUND],
  ['max_length', ONE_BOUND],
  ['options', ONE_BOUND],
  ['generation_config', ONE_BOUND],
])

/** Finds names that some readers treat as the same: they differ only in case, hyphens and underscores. */
export class Spellings {
  private readonly exact: ReadonlySet<string>
  private readonly folded: ReadonlyMap<string, string>
  private readonly longest: number

  constructor(names: Iterable<string>) {
    this.exact = new Set(names)
    this.folded = new Map([...this.exact].map((name) => [fold(name), name]))
    this.longest = 2 * Math.max(0, ...[...this.exact].map(({ length }) => length))
  }

  /** Returns the name of which this is a different spelling, otherwise undefined. */
  of(name: string): string | undefined {
    if (this.exact.has(name) || name.length > this.longest) return undefined
    return this.folded.get(fold(name))
  }
}

function fold(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[-_\s\p{Cf}\p{Mn}]/gu, '')
}

/** Throws 400 for the first field that is refused, or that is a different spelling of a known field. */
export function refuseFields(
  fields: readonly string[],
  spellings: Spellings,
  refused: ReadonlyMap<string, string>,
): void {
  for (const field of fields) {
    const why = refused.get(field)
    if (why !== undefined) {
      throw new CompatError('unsupported_parameter', `${field} is not accepted. ${why}.`, { param: field })
    }
    const meant = spellings.of(field)
    if (meant === undefined) continue
    throw new CompatError('unsupported_parameter', `${meant} is accepted only in this spelling.`, {
      param: meant,
    })
  }
}
