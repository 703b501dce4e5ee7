import type { Route } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { answerJson } from '../../helpers/scripted-upstream.js'
import { FAST } from './stage.js'
import { openVisit, type Visit } from './visit.js'

let visit: Visit

beforeAll(async () => {
  visit = await openVisit()
}, 180_000)

afterAll(() => visit?.close())

it('the Live page makes one request at a time, however often it was hidden while replies were late', {
  timeout: 120_000,
}, async () => {
  const page = await visit.open('operator', 'nowhere')
  await page.clock.install()
  const asked: Route[] = []
  await page.route('**/api/live', (route) => {
    asked.push(route)
  })
  await page.evaluate("location.hash = '#/live'")
  await expect.poll(() => asked.length).toBe(1)
  for (const count of [2, 3, 4]) {
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await expect.poll(() => asked.length).toBe(count)
  }
  for (const [index, route] of asked.splice(0).entries()) {
    const problem = { status: 500, json: { error: { message: `reply ${index}` } } }
    await route.fulfill(problem)
    await page.getByText(`reply ${index}`).waitFor()
  }
  await page.clock.runFor(60_000)
  // A request from the page itself, which arrives after all others.
  await page.evaluate("fetch('api/me').then((response) => response.text())")
  expect(asked.length).toBe(1)
  await page.context().close()
})

it('the pages Routes and Live say of a route that its provider refuses its key', {
  timeout: 120_000,
}, async () => {
  const { admin, origin } = visit.stage
  const [route] = await admin.routes.list({ model: FAST })
  await admin.routes.put({ ...route!, secret: 'sk-wrong' })
  visit.upstream.script(
    answerJson({ error: { message: 'Incorrect API key provided.', code: 'invalid_api_key' } }, 401),
  )
  // The calls of one account are no proof.
  for (const account of ['alice', 'bob']) {
    const { token } = await admin.keys.issue({ account })
    const response = await fetch(`${origin}/compat/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: FAST, messages: [{ role: 'user', content: 'Hi' }] }),
    })
    expect(response.status).toBe(502)
  }
  for (const path of ['routes', 'live']) {
    const page = await visit.open('operator', path)
    const row = page.locator(`tr[data-row="${route!.id}"]`)
    await expect.poll(() => row.textContent()).toContain('misconfigured: the provider refuses its key')
    await page.context().close()
  }
})
