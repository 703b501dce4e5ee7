import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.js'
import { answerJson, type Step } from '../helpers/scripted-upstream.js'
import { deferred } from '../http/fixture.js'
import { ask, providerReply, type ServiceOptions, WireService } from './service.js'

const open: WireService[] = []

afterEach(async () => {
  for (const service of open.splice(0)) await service.close()
})

async function start(options: ServiceOptions = {}): Promise<WireService> {
  const service = await WireService.start(options)
  open.push(service)
  return service
}

/** The steps of a provider that answers once it is told to. */
function heldBack() {
  const told = deferred()
  const script: readonly Step[] = [
    { wait: told.promise },
    ...(answerJson(providerReply()) as readonly Step[]),
  ]
  return { script, answer: told.resolve }
}

describe('graceMs', () => {
  test.each([Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER])(
    'of %s lets calls end that take longer than a millisecond',
    async (graceMs) => {
      const service = await start({ router: () => ({ clock: systemClock }) })
      const { script, answer } = heldBack()
      service.upstream.script(script)
      const asked = service.upstream.nextRequest()
      const answered = service.post(ask())
      await asked
      const closing = service.router.close({ graceMs })
      // Timers of one length fire in the order in which they were set: one of the router's would be over before.
      await new Promise((resolve) => setTimeout(resolve, 1))
      answer()
      expect((await answered).status).toBe(200)
      expect(await closing).toEqual({ drained: 1, aborted: 0 })
    },
  )

  test.each([Number.NaN, -1, '30s', null])('of %s is refused, and nothing is closed', async (graceMs) => {
    const service = await start()
    service.upstream.script(answerJson(providerReply()))
    await expect(service.router.close({ graceMs: graceMs as number })).rejects.toThrow(
      new TypeError(
        'close: graceMs must be a number of milliseconds, 0 or more, such as 30_000; Infinity waits until all calls have ended.',
      ),
    )
    expect((await service.post(ask())).status).toBe(200)
  })
})
