export type { RouteHealth } from '../contracts/route-health.js'
export { type Console, type ConsoleOptions, createConsole } from './console.js'
export { type OneTimeSignIn, type OneTimeSignInOptions, oneTimeSignIn } from './sign-in.js'
export type { Authorise, ConsoleViewer } from './viewer.js'
