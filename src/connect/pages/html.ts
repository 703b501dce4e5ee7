/** Text that is already HTML. Everything else is escaped when it is put into a page. */
export class Html {
  constructor(readonly text: string) {}
}

type Part = Html | string | number | undefined | false | readonly (Html | undefined | false)[]

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Creates HTML from a template. Values are escaped unless they are HTML. Undefined and false are omitted. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let text = strings[0]!
  for (const [index, part] of parts.entries()) text += partText(part) + strings[index + 1]!
  return new Html(text)
}

function partText(part: Part): string {
  if (part === undefined || part === false) return ''
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map(partText).join('')
  return String(part).replace(/[&<>"']/g, (character) => ESCAPES[character]!)
}
