export type { CalendarPeriod } from '../base/periods.js'
export { type Connect, createConnect } from './connect.js'
export type * from './model/events.js'
export type {
  ConnectCap,
  ConnectEnd,
  ConnectHost,
  ConnectOptions,
  ConnectRates,
  ConnectStores,
  ConnectUser,
} from './model/options.js'
