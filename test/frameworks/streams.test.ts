import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createRandom } from '../helpers/random.js'
import { Application } from './application.js'
import { call, creditsOf, EVENT_STREAM, event, handleOf, idIn, marksIn, PIECE } from './leaving.js'
import { WATCHED_APPS } from './watched.js'

const STREAMS = 1_000
const AT_ONCE = 50
const PIECES = 20
const SLOW_MS = 120_000
const PAUSE_MS = 10
/** What the last event of a whole reply says, at 1 and 2 credits a token. */
const USAGE = { prompt_tokens: 2, completion_tokens: 30, total_tokens: 32 }
const WHOLE_COST = 62
/** One for all calls, and that of the sweeper. On Workers, each call has its own. */
const SHARED_TIMERS = 2

interface Seen {
  readonly id: string
  /** How many pieces the client got. */
  readonly marks: number
  readonly isWhole: boolean
}

describe.each(WATCHED_APPS.map((app) => [app.title, app] as const))(
  `${STREAMS} streams through the fetch handler on %s, whose clients leave at random`,
  (title, app) => {
    let application: Application
    beforeAll(async () => {
      application = await Application.start(app, inject('env'))
    })
    afterAll(() => application?.close())

    it(
      'leave no hold, no call of the provider and no timer, and each charge is right',
      async () => {
        const below = createRandom(7)
        const random = () => below(1_000) / 1_000
        const { upstream } = application
        const sent = new Map<string, number>()
        let underWay = 0
        upstream.script(async (reply, { body }) => {
          const id = idIn(body)
          underWay++
          sent.set(id, 0)
          await pause(random() * PAUSE_MS)
          if (reply.open) reply.head(200, EVENT_STREAM)
          for (let piece = 1; piece <= PIECES && reply.open; piece++) {
            sent.set(id, piece)
            await reply.write(PIECE)
            await pause(random() * PAUSE_MS)
          }
          if (reply.open) {
            await reply.write(event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
            await reply.write(`${event({ choices: [], usage: USAGE })}data: [DONE]\n\n`)
            reply.end()
          }
          underWay--
        })

        const seen: Seen[] = []
        let next = 0
        const client = async (): Promise<void> => {
          while (next < STREAMS) {
            const id = `call-${next++}`
            const kind = random()
            const leaving =
              kind < 0.3
                ? {}
                : kind < 0.5
                  ? { leavesAfterMs: random() * PIECES * PAUSE_MS }
                  : { leavesAfter: 1 + Math.floor(random() * PIECES) }
            const { text } = await call(application, { id, ...leaving })
            seen.push({ id, marks: marksIn(text), isWhole: text.includes('[DONE]') })
          }
        }
        await Promise.all(Array.from({ length: AT_ONCE }, client))

        await expect.poll(() => underWay).toBe(0)
        await expect.poll(async () => (await handleOf(application)).inFlight).toBe(0)
        const { costs, openHolds, timers } = await handleOf(application)
        expect(openHolds).toBe(0)
        expect(timers).toBeLessThanOrEqual(title === 'Workers' ? 0 : SHARED_TIMERS)

        const wrong = seen.filter(({ id, isWhole, marks }) => {
          const cost = costs[id] ?? 0
          if (isWhole) return cost !== WHOLE_COST
          if (cost === WHOLE_COST && sent.get(id) === PIECES) return false
          const most = sent.get(id) ?? 0
          return most === 0 ? cost !== 0 : cost < marks * 2 || cost > most * 2
        })
        expect(wrong.map((each) => ({ ...each, sent: sent.get(each.id), cost: costs[each.id] }))).toEqual([])
        const sum = Object.values(costs).reduce((one, other) => one + other, 0)
        expect(await creditsOf(application)).toEqual({ held: 0, spent: sum })
        const whole = seen.filter(({ isWhole }) => isWhole).length
        expect(whole).toBeGreaterThan(STREAMS / 10)
        expect(whole).toBeLessThan(STREAMS / 2)
        console.log(`${title}: ${STREAMS} streams, ${STREAMS - whole} left, ${sum} credits`)
      },
      SLOW_MS,
    )
  },
)

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
