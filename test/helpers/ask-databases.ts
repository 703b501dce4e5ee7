import { get } from 'node:http'
import { text } from 'node:stream/consumers'

/** Asks the process that `databases-setup.ts` started. */
export function askDatabases(
  broker: string,
  path: '/postgres' | '/template' | '/worker' | '/console' | '/chromium',
): Promise<string> {
  return new Promise((resolve, reject) => {
    get(`${broker}${path}`, (response) => {
      text(response).then((body) => {
        if (response.statusCode === 200) resolve(body)
        else reject(new Error(body))
      }, reject)
    }).on('error', reject)
  })
}
