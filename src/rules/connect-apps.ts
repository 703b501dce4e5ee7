import type { RegisteredApp } from '../contracts/connect.js'

/** Whether this account can connect the app. A suspended app can be connected by nobody. */
export function mayConnect(app: RegisteredApp, account: string): boolean {
  if (app.suspended || app.redirectUris.length === 0) return false
  return app.state === 'live' || app.owner === account || app.testers.includes(account)
}
