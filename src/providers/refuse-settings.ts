import { namedSettings } from '../conversation/chat-fields.js'
import type { ConversationSettings } from '../conversation/settings.js'
import { unsupported } from '../conversation/unsupported.js'
import { isNeutral } from '../protocol/request-fields/known-fields.js'

/** Which settings an API has. */
export type TakenSettings = Readonly<Record<Exclude<keyof ConversationSettings, 'others'>, boolean>>

/**
 * Throws for a setting that an API does not have, unless its value asks for the default behaviour.
 *
 * @param hasField whether the API has a field of `others`
 */
export function refuseSettings(
  settings: ConversationSettings,
  taken: TakenSettings,
  hasField: (field: string) => boolean,
): void {
  for (const [member, field, value] of namedSettings(settings)) {
    const isTaken = member === 'others' ? hasField(field) : taken[member]
    if (isTaken || (value ?? undefined) === undefined || isNeutral(field, value)) continue
    throw unsupported(
      field,
      `${field}: this parameter, or this value of it, is not supported by this provider.`,
    )
  }
}
