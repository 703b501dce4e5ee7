/**
 * The files of undici that connections need. All of undici, with its fetch, takes three times as long to load, and gives
 * the process another dispatcher for Node's own fetch. Its versions may move files, so package.json allows only patches.
 */
declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici/index.js'
  export default Pool
}
declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici/index.js'
  export default Client
}
declare module 'undici/lib/core/connect.js' {
  import { buildConnector } from 'undici/index.js'
  export default buildConnector
}
