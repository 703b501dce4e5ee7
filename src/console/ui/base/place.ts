import { useLayoutEffect, useMemo, useState } from 'preact/hooks'

/** Where one is: `#/calls?model=acme%2Ffast`. Filters stand in it, so that what is seen can be linked to. */
export interface Place {
  readonly page: string
  readonly query: Readonly<Record<string, string | undefined>>
}

function readPlace(hash: string): Place {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s)
  return { page: path, query: Object.fromEntries(new URLSearchParams(search)) }
}

export function hrefOf(page: string, query: Place['query'] = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') search.set(name, value)
  }
  const text = search.toString()
  return `#/${page}${text === '' ? '' : `?${text}`}`
}

/** The address of what is shown. A new one is followed when its event comes, a moment later. */
let followed = location.hash

export function usePlace(): Place {
  const [hash, setHash] = useState(location.hash)
  // At once: a place that is left before the first frame is painted has been left all the same.
  useLayoutEffect(() => {
    const follow = (): void => {
      followed = location.hash
      setHash(followed)
    }
    window.addEventListener('hashchange', follow)
    follow()
    return () => window.removeEventListener('hashchange', follow)
  }, [])
  return useMemo(() => readPlace(hash), [hash])
}

/** Whether another place is on its way: the address is that one's by now, and what is shown is not. */
export function isLeaving(): boolean {
  return location.hash !== followed
}

/** Changes some members of the query and stays on the page; nothing if another page is on its way. */
export function changeQuery(changes: Place['query']): void {
  const { page, query } = readPlace(location.hash)
  if (page !== readPlace(followed).page) return
  location.hash = hrefOf(page, { ...query, ...changes })
  followed = location.hash
}
