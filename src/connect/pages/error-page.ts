import { html } from './html.js'
import { type Frame, page } from './page.js'

export interface ErrorDetails {
  /** The OAuth error code. */
  readonly code?: string
  readonly link?: { readonly to: string; readonly text: string }
}

/** Returns a page for a user who cannot be sent back to the app, because that would be unsafe. */
export function errorPage(
  frame: Frame,
  title: string,
  text: string,
  { code, link }: ErrorDetails = {},
): string {
  return page(
    frame,
    title,
    undefined,
    html`<section>
<h1>${title}</h1>
<p>${text}</p>
${code !== undefined && html`<p class="muted">Error: ${code}</p>`}
${link !== undefined && html`<p><a href="${link.to}">${link.text}</a></p>`}
</section>`,
  )
}
