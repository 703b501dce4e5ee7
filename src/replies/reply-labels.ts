import { isText, isTooDeep, type JsonObject } from '../protocol/json-values.js'
import { cleanLabel } from '../protocol/text.js'

/** Lists beside the choices that belong to the reply, such as the sources of a search. They are passed on unchanged. */
const KEPT = new Set(
  'citations search_results related_questions images videos prompt_filter_results'.split(' '),
)
/** Members that the router replaces, or that say nothing about the reply. */
const REPLACED = new Set(
  'id object created model choices usage error obfuscation system_fingerprint service_tier'.split(' '),
)

/** Counts omitted members. */
interface LeftOut {
  drop(name: string): void
}

/** The fields of a provider's reply other than its choices. */
export class ReplyLabels {
  private providerId: string | undefined
  private fingerprint: string | undefined
  private serviceTier: string | undefined
  /** Undefined while there are none, as in most replies. */
  private kept: Record<string, readonly unknown[]> | undefined

  /** Returns the labels of one chunk or body. Counts omitted members in `mends`. */
  take(top: JsonObject, mends: LeftOut): JsonObject {
    const { id, system_fingerprint: fingerprint, service_tier: tier } = top
    const labels: JsonObject = {
      system_fingerprint: typeof fingerprint === 'string' ? fingerprint : undefined,
      service_tier: typeof tier === 'string' ? tier : undefined,
    }
    // Azure starts a stream with an empty id.
    if (isText(id)) this.providerId ??= id
    if (typeof fingerprint === 'string') this.fingerprint = fingerprint
    if (typeof tier === 'string') this.serviceTier = tier
    for (const name of Object.keys(top)) {
      const value = top[name]
      if (REPLACED.has(name) || value === undefined || value === null) continue
      if (!KEPT.has(name) || !Array.isArray(value) || isTooDeep(value)) mends.drop(name)
      else if (value.length > 0) {
        labels[name] = value
        this.kept ??= {}
        this.kept[name] = value
      }
    }
    return labels
  }

  /** The provider's own id of the reply. */
  get upstreamId(): string | undefined {
    return this.providerId === undefined ? undefined : cleanLabel(this.providerId)
  }

  /** For the final chunks. Lists have been sent before. */
  get forEnd(): JsonObject {
    return { system_fingerprint: this.fingerprint, service_tier: this.serviceTier }
  }

  /** For a JSON reply. */
  get forBody(): JsonObject {
    const { fingerprint = null, kept, serviceTier } = this
    return Object.assign({ system_fingerprint: fingerprint, service_tier: serviceTier }, kept)
  }
}
