export { type CachedCatalogue, cachedCatalogue } from './catalogue.js'
export { type CachedCredentials, cachedCredentials } from './credentials.js'
export type { CacheOptions } from './options.js'
