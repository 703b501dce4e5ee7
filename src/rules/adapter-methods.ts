import type { ProviderAdapter } from '../contracts/providers.js'

type Optional = keyof ProviderAdapter

/** An adapter that has one of the optional methods. */
export type AdapterWith<Method extends Optional> = ProviderAdapter & Required<Pick<ProviderAdapter, Method>>

export function hasMethod<Method extends Optional>(
  adapter: ProviderAdapter,
  method: Method,
): adapter is AdapterWith<Method> {
  return adapter[method] !== undefined
}
