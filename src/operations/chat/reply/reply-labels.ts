import { isText, type JsonObject } from '../../../protocol/json-values.js'
import { fromLatin1 } from '../../../protocol/latin1.js'
import { cleanLabel } from '../../../protocol/text.js'
import type { WrittenLabels } from './body-writer.js'

/** What a provider says of a reply beside its choices. */
export class ReplyLabels {
  private providerId: string | undefined
  private fingerprint: string | undefined
  private serviceTier: string | undefined
  /** Those three are latin1. */
  private areLatin1 = false

  take({ id, system_fingerprint: fingerprint, service_tier: tier }: JsonObject, areLatin1 = false): void {
    this.areLatin1 = areLatin1
    // Azure begins a stream with an empty one.
    if (isText(id)) this.providerId ??= id
    if (typeof fingerprint === 'string') this.fingerprint = fingerprint
    if (typeof tier === 'string') this.serviceTier = tier
  }

  /** The provider's own id of the reply. */
  get upstreamId(): string | undefined {
    const { areLatin1, providerId } = this
    if (providerId === undefined) return undefined
    return cleanLabel(areLatin1 ? fromLatin1(providerId) : providerId)
  }

  get forBody(): WrittenLabels {
    return {
      system_fingerprint: this.fingerprint,
      service_tier: this.serviceTier,
      isLatin1: this.areLatin1,
    }
  }
}
