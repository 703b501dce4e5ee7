import { useLayoutEffect, useMemo, useState } from 'preact/hooks'

/** The current place, such as `#/calls?model=acme%2Ffast`. It contains the filters, so that a view can be linked to. */
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

/** The address of the page that is shown. It changes with the `hashchange` event, a moment after the browser's address. */
let followed = location.hash

export function usePlace(): Place {
  const [hash, setHash] = useState(location.hash)
  // A layout effect, since the place may change before the first frame is painted.
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

/** Whether another place is about to be shown: the address has changed, but the page has not. */
export function isLeaving(): boolean {
  return location.hash !== followed
}

/** Changes some members of the query and stays on the page. Does nothing if another page is about to be shown. */
export function changeQuery(changes: Place['query']): void {
  const { page, query } = readPlace(location.hash)
  if (page !== readPlace(followed).page) return
  location.hash = hrefOf(page, { ...query, ...changes })
  followed = location.hash
}
