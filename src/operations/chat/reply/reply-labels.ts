import { isText, type JsonObject } from '../../../protocol/json-values.js'
import { cleanLabel } from '../../../protocol/text.js'
import type { WrittenLabels } from './body-writer.js'

/** The fields of a provider's reply other than its choices. */
export class ReplyLabels {
  private providerId: string | undefined
  private fingerprint: string | undefined
  private serviceTier: string | undefined

  take({ id, system_fingerprint: fingerprint, service_tier: tier }: JsonObject): void {
    // Azure starts a stream with an empty id.
    if (isText(id)) this.providerId ??= id
    if (typeof fingerprint === 'string') this.fingerprint = fingerprint
    if (typeof tier === 'string') this.serviceTier = tier
  }

  /** The provider's own id of the reply. */
  get upstreamId(): string | undefined {
    return this.providerId === undefined ? undefined : cleanLabel(this.providerId)
  }

  get forBody(): WrittenLabels {
    return {
      system_fingerprint: this.fingerprint,
      service_tier: this.serviceTier,
    }
  }
}
