const STYLE = `
  :root {
    color-scheme: light dark;
    --ground: #f4f5f7; --surface: #fff; --ink: #16181d; --muted: #565c68;
    --line: #d9dce2; --field: #868d9b; --accent: #1d4ed8; --on-accent: #fff;
  }
  @media (prefers-color-scheme: dark) {
    :root {
      --ground: #101216; --surface: #191c22; --ink: #eceef2; --muted: #a6adba;
      --line: #333843; --field: #7c8494; --accent: #8ab0ff; --on-accent: #0b1220;
    }
  }
  * { box-sizing: border-box; }
  body {
    max-width: 46rem; margin: 0 auto; padding: 1.25rem 1rem 2rem; background: var(--ground); color: var(--ink);
    font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere;
  }
  header { margin-bottom: 1rem; font-weight: 600; }
  h1 { margin: 0 0 .75rem; font-size: 1.375rem; }
  h2 { margin: 0 0 .75rem; font-size: 1rem; }
  section { margin-bottom: 1rem; padding: 1.25rem; border: 1px solid var(--line); border-radius: 12px; background: var(--surface); }
  table { width: 100%; border-collapse: collapse; }
  th { color: var(--muted); font-size: .875rem; font-weight: 400; text-align: left; }
  td { padding: .5rem .5rem .5rem 0; border-top: 1px solid var(--line); }
  form { display: flex; flex-wrap: wrap; align-items: end; gap: .5rem; }
  label { flex: 1 1 9rem; color: var(--muted); font-size: .875rem; }
  input { width: 100%; }
  td input { flex: 0 1 6rem; }
  input, button {
    min-height: 44px; padding: .4rem .75rem; border: 1px solid var(--field); border-radius: 8px;
    background: var(--surface); color: var(--ink); font: inherit;
  }
  button { cursor: pointer; font-weight: 600; }
  button.yes { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
  a { color: var(--accent); }
  .muted { color: var(--muted); }
  :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`

export const escaped = (text: string) =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

/** Returns a whole page. The title and the body are HTML: text from outside goes through `escaped`. */
export const page = (title: string, body: string) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Acme</title>
<style>${STYLE}</style>
<header>Acme</header>
<main>${body}</main>
</html>`
