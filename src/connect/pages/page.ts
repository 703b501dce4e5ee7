import { hash } from 'node:crypto'
import type { Settings } from '../model/options.js'
import { type Html, html } from './html.js'
import { STYLE } from './style.js'

export const STYLE_HASH = hash('sha256', STYLE).slice(0, 16)

/** The parts that all pages share. */
export interface Frame {
  readonly mount: string
  readonly host: Settings['host']
  /** The hash of the host's logo. */
  readonly hostLogo: string | undefined
}

/** Returns a whole page. */
export function page(
  { host, hostLogo, mount }: Frame,
  title: string,
  user: string | undefined,
  main: Html,
): string {
  const name = html`${
    hostLogo !== undefined && html`<img src="${mount}/host-logo/${hostLogo}" alt="">`
  }<span>${host.name}</span>`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} – ${host.name}</title>
<link rel="stylesheet" href="${mount}/style.css?${STYLE_HASH}">
</head>
<body>
<header>${name}${user !== undefined && html`<span class="who">Signed in as ${user}</span>`}</header>
<main>${main}</main>
<footer>${
    host.home !== undefined && html`<a href="${host.home}" rel="noreferrer noopener">${host.name}</a> `
  }${host.support !== undefined && html`<a href="${host.support}" rel="noreferrer noopener">Help</a>`}</footer>
</body>
</html>
`.text
}

/**
 * Returns the headers of all pages. `formTarget` is the origin of a redirect that may follow the page's form: without
 * it, Chromium blocks the redirect. Uses `same-origin`, because with `no-referrer` browsers send `Origin: null` with
 * the form.
 */
export function pageHeaders(formTarget?: string): Readonly<Record<string, string>> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': [
      "default-src 'none'",
      "style-src 'self'",
      "img-src 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
      `form-action ${formTarget === undefined ? "'none'" : `'self' ${formTarget}`}`,
    ].join('; '),
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  }
}

/** Returns the `form-action` source for a redirect URI. The syntax cannot express the address `[::1]`. */
export function formTargetOf(redirectUri: string): string {
  const { hostname, origin, protocol } = new URL(redirectUri)
  return hostname.startsWith('[') ? protocol : origin
}
