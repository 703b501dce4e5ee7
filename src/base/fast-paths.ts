/**
 * Whether ways may be taken that do nothing but save time. `COMPAT_ROUTER_FAST_PATHS=off` closes them all, for
 * comparison and for tests.
 */
export const usesFastPaths = process.env.COMPAT_ROUTER_FAST_PATHS !== 'off'
