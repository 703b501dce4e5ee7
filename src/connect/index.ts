export { type Connect, createConnect } from './connect.js'
export type * from './events.js'
export type {
  ConnectCap,
  ConnectEnd,
  ConnectHost,
  ConnectOptions,
  ConnectStores,
  ConnectUser,
} from './options.js'
