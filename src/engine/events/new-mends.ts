import type { ReplyMended } from '../../contracts/events.js'
import type { Reply } from '../../contracts/operation.js'
import { cleanLabel } from '../../protocol/text.js'
import type { FirstTimes } from './first-times.js'

const MAX_NAME_CHARS = 64

/** Returns the repairs of a reply that have not yet been reported for this route. Undefined if there are none. */
export function newMends(
  mends: NonNullable<Reply['mends']>,
  routeId: string,
  firstTimes: FirstTimes,
): Pick<ReplyMended, 'kinds' | 'times' | 'dropped'> | undefined {
  const kinds: string[] = []
  const dropped: string[] = []
  let times = 0
  for (const [name, mended] of mends) {
    const kind = cleanLabel(name, MAX_NAME_CHARS)
    const key = `reply-mended ${routeId} ${kind}`
    const isNew = firstTimes.isFirst(key)
    const names = [...mended.dropped]
      .map((each) => cleanLabel(each, MAX_NAME_CHARS))
      .filter((each) => firstTimes.isFirst(`${key} ${each}`))
    if (!isNew && names.length === 0) continue
    kinds.push(kind)
    dropped.push(...names)
    times += mended.times
  }
  return kinds.length === 0 ? undefined : { kinds, times, dropped }
}
