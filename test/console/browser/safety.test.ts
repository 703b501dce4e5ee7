import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerJson, finishChunk, sse, textChunk } from '../../helpers/scripted-upstream.js'
import { FAST } from './stage.js'
import { openVisit, say, streamOf, type Visit } from './visit.js'

const HOSTILE =
  '<img src=x onerror="globalThis.owned=1"><script>globalThis.owned=2</script><b id="grown">bold</b> [a](javascript:owned=3)'

let visit: Visit

beforeAll(async () => {
  visit = await openVisit()
}, 180_000)

afterAll(() => visit?.close())

const textOf = async (page: Page): Promise<string> => (await page.locator('body').textContent()) ?? ''

/** Calls the API from within the page, with its cookies and its origin. */
function ask(page: Page, path: string, body?: object): Promise<number> {
  const init =
    body === undefined
      ? undefined
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  return page.evaluate(([to, how]) => fetch(to as string, how as RequestInit).then(({ status }) => status), [
    path,
    init,
  ] as const)
}

describe('a key of the playground', { timeout: 120_000 }, () => {
  const inUse = async () =>
    (await visit.stage.admin.keys.list({ account: 'bob', inUse: true })).map(({ label }) => label)

  it('is used for all messages of a page, and revoked when the user leaves the page', async () => {
    const page = await visit.open('bob', 'playground')
    for (const text of ['Hello', 'Hello again']) {
      visit.upstream.scriptOnce(streamOf(['Hi.']))
      await say(page, text)
      await page.locator('.turn').last().locator('[data-cost]').waitFor()
      expect(await inUse()).toEqual(['Playground'])
    }
    await page.reload()
    await expect.poll(inUse).toEqual([])
    visit.upstream.scriptOnce(streamOf(['Hi.']))
    await say(page, 'After the reload')
    await page.locator('[data-cost]').waitFor()
    expect(await inUse()).toEqual(['Playground'])
    await page.context().close()
  })

  it('is revoked before its user is signed out', async () => {
    for (const { credentialId } of await visit.stage.admin.keys.list({ account: 'bob', inUse: true })) {
      await visit.stage.admin.keys.revoke(credentialId)
    }
    const page = await visit.open('bob', 'spend')
    const me = await (await page.request.get(new URL('api/me', visit.stage.consoleUrl).href)).json()
    await page.route('**/api/me', (route) => route.fulfill({ json: { ...me, signOutPath: 'sign-out' } }))
    let inUseThen: unknown
    await page.route('**/sign-out', async (route) => {
      inUseThen = await inUse()
      await route.fulfill({ json: {} })
    })
    await page.goto(`${visit.stage.consoleUrl}#/playground`)
    await page.reload()
    visit.upstream.scriptOnce(streamOf(['Hi.']))
    await say(page, 'Hello')
    await page.locator('[data-cost]').waitFor()
    expect(await inUse()).toEqual(['Playground'])
    await page.getByRole('button', { name: 'Sign out' }).click()
    await expect.poll(() => inUseThen).toEqual([])
    await page.context().close()
  })
})

describe("in the console, a user who tries to see another user's data", { timeout: 120_000 }, () => {
  const SECRET_MEMO = 'a memo for bob alone'

  beforeAll(async () => {
    await visit.stage.admin.accounts.credit({ account: 'bob', amount: '1.234567', memo: SECRET_MEMO })
    await visit.stage.admin.keys.issue({ account: 'bob', label: 'the key of bob' })
  })

  it.each(['spend', 'calls', 'keys', 'accounts', 'calls?view=events', 'playground'])(
    'sees none of it at the address %s',
    async (path) => {
      const page = await visit.open('alice', `${path}${path.includes('?') ? '&' : '?'}account=bob`)
      await page.locator('.notice.bad, .empty').first().waitFor()
      const text = await textOf(page)
      expect(text).not.toContain(SECRET_MEMO)
      expect(text).not.toContain('the key of bob')
      expect(text).not.toContain('234567')
      await page.context().close()
    },
  )

  it.each(['routes', 'books', 'audit'])('is told that %s is for operators', async (path) => {
    const page = await visit.open('alice', path)
    await page.getByText('This page is for operators.').waitFor()
    await page.context().close()
  })

  it('is refused by the API, whatever the page requests', async () => {
    const page = await visit.open('alice', 'spend')
    for (const path of [
      'spend?by=day&account=bob',
      'calls?account=bob',
      'statement?account=bob',
      'credentials?account=bob',
    ]) {
      expect(await ask(page, `api/${path}`), path).toBe(404)
    }
    expect(await ask(page, 'api/routes')).toBe(403)
    expect(await ask(page, 'api/accounts/credit', { account: 'alice', amount: '100' })).toBe(403)
    expect(await ask(page, 'api/keys/playground', { account: 'bob' })).toBe(404)
    expect(await ask(page, 'api/keys/issue', { account: 'bob' })).toBe(404)
    expect((await visit.stage.admin.accounts.balance('alice'))?.posted).toBe(5_000_000_000n)
    await page.context().close()
  })

  it('sees how to sign in if nobody is signed in', async () => {
    const page = await visit.open(undefined, 'spend')
    await page.getByText(/You are not signed in/).waitFor()
    await page.context().close()
  })
})

describe('text from models and people in the console', { timeout: 120_000 }, () => {
  const expectHarmless = async (page: Page): Promise<void> => {
    expect(await page.evaluate('globalThis.owned')).toBeUndefined()
    expect(await page.locator('main img, main script, main #grown, main a[href^="javascript"]').count()).toBe(
      0,
    )
    expect(visit.complaints).toEqual([])
  }

  it('stays plain text in a reply and its reasoning', async () => {
    visit.upstream.scriptOnce([
      { head: 200, headers: { 'content-type': 'text/event-stream' } },
      { write: sse([{ ...textChunk(''), choices: [{ index: 0, delta: { reasoning_content: HOSTILE } }] }]) },
      { write: sse([textChunk(HOSTILE.slice(0, 40)), textChunk(HOSTILE.slice(40)), finishChunk()]) },
      { write: 'data: [DONE]\n\n' },
      'end',
    ])
    const page = await visit.open('alice', 'playground')
    await say(page, HOSTILE)
    await page.locator('[data-cost]').waitFor()
    expect(await page.locator('.turn.assistant > .said').textContent()).toBe(HOSTILE)
    await page.getByText('Reasoning', { exact: true }).click()
    await page.getByRole('button', { name: 'Frames', exact: true }).click()
    await expectHarmless(page)
    await page.context().close()
  })

  it("stays plain text in a provider's error", async () => {
    visit.upstream.scriptOnce(answerJson({ error: { message: `Refused: ${HOSTILE}` } }, 400))
    const page = await visit.open('alice', 'playground')
    await say(page, 'Hello')
    await page.getByRole('alert').filter({ hasText: 'onerror' }).waitFor()
    await expectHarmless(page)
    await page.context().close()
  })

  it('stays plain text in labels, memos, names and sessions', async () => {
    const { admin, origin } = visit.stage
    const { token } = await admin.keys.issue({ account: 'alice', label: HOSTILE })
    await admin.accounts.credit({ account: 'alice', amount: '0.000000001', memo: HOSTILE })
    await admin.apps.put({ id: 'hostile', name: HOSTILE, markup: { basisPoints: 0 }, allowedModels: [] })
    visit.upstream.scriptOnce(streamOf(['Hello']))
    const sent = await fetch(`${origin}/compat/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: FAST,
        session_id: HOSTILE,
        user: HOSTILE,
        stream: true,
        messages: [{ role: 'user', content: 'Hi' }],
      }),
    })
    await sent.text()
    const page = await visit.open('operator', 'keys')
    for (const path of ['keys', 'apps', 'calls', 'calls?view=events', 'spend?by=key', 'playground']) {
      await page.goto(`${visit.stage.consoleUrl}#/${path}`)
      await page.locator('.listing, .bench').first().waitFor()
      if (path.startsWith('calls')) {
        await page
          .getByRole('button', { name: /^Explain/ })
          .nth(path === 'calls' ? 1 : 0)
          .click()
      }
      await expect.poll(() => page.locator('main').textContent()).toContain('onerror')
      await expectHarmless(page)
    }
    await page.context().close()
  })
})
