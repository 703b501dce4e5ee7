import { createServer } from 'node:http'
import express from 'express'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { listenHttp } from '../helpers/listen-http.js'
import { openStage, type Stage, WEB_REDIRECT } from './stage.js'
import { authorizeUrl, connectApp, createPkce, UserAgent } from './user-agent.js'

let stage: Stage
const pkce = createPkce()
beforeAll(async () => {
  stage = await openStage()
  await connectApp(stage, new UserAgent(stage.origin, 'alice'))
})
afterAll(() => stage.close())

const faults = () => stage.events.filter(({ type }) => type === 'connect-fault')

describe('a parameter of Connect that is sent twice', () => {
  it.each(['prompt', 'scope', 'code_challenge', 'response_mode', 'response_type', 'unknown'])(
    'is an invalid request, even if everything requested was granted before: %s',
    async (name) => {
      const url = `${authorizeUrl(stage, pkce, { [name]: 'none' })}&${name}=none`
      const response = await new UserAgent(stage.origin, 'alice').visit(url)
      const to = new URL(response.headers.get('location')!)
      expect(to.origin + to.pathname).toBe(WEB_REDIRECT)
      expect(Object.fromEntries(to.searchParams)).toMatchObject({
        error: 'invalid_request',
        state: 'state-1',
        iss: stage.issuer,
      })
      expect(to.searchParams.has('code')).toBe(false)
    },
  )

  it.each(['client_id=notes', `redirect_uri=${encodeURIComponent(WEB_REDIRECT)}`])(
    'is reported on a page without a redirect, if it identifies the client: %s',
    async (more) => {
      const response = await new UserAgent(stage.origin, 'alice').visit(
        `${authorizeUrl(stage, pkce)}&${more}`,
      )
      expect([response.status, response.headers.get('location')]).toEqual([400, null])
      expect(await response.text()).toContain('invalid_request')
    },
  )

  it.each(['token', 'revoke', 'introspect'])('is an invalid request at /%s', async (endpoint) => {
    const body = new URLSearchParams({ client_id: 'notes', grant_type: 'refresh_token', token: 'a' })
    body.append('client_id', 'notes')
    const response = await fetch(`${stage.issuer}/${endpoint}`, { method: 'POST', body })
    expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_request' }])
  })
})

describe('an unreadable request to Connect', () => {
  it.each([
    '/logo/%00/abc',
    '/logo/notes%00/abc',
    '/logo/%ff/abc',
    '/logo/notes/%00',
    '/ask/%00',
    '/authorize/%00',
  ])('is not found: %s', async (path) => {
    expect((await fetch(stage.issuer + path)).status).toBe(404)
    expect(faults()).toEqual([])
  })

  it.each([
    'client_id[toString]=1',
    'client_id[]=a&client_id[x]=b',
    'client_id=notes%00&grant_type=refresh_token&refresh_token=%00',
    'client_id=notes&grant_type=authorization_code&code=%00&redirect_uri=%00',
    'token=%00&client_id=%ed%a0%80',
    '',
  ])('is refused with a 4xx behind any form parser: %s', async (body) => {
    const app = express().use(express.urlencoded({ extended: true }), stage.connect)
    const host = await listenHttp(createServer(app), '')
    onTestFinished(() => host.close())
    for (const endpoint of ['token', 'revoke', 'introspect']) {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const { status } = await host.request(`/connect/${endpoint}`, { method: 'POST', headers, body })
      expect([endpoint, Math.floor(status / 100)]).toEqual([endpoint, 4])
    }
    expect(faults()).toEqual([])
  })
})
