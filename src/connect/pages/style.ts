/** The style of all pages of Connect. Colours keep a contrast of at least 4.5 in both schemes. */
export const STYLE = `:root {
  color-scheme: light dark;
  --ground: #f4f5f7;
  --surface: #fff;
  --ink: #16181d;
  --muted: #565c68;
  --line: #d9dce2;
  --field: #868d9b;
  --accent: #1d4ed8;
  --on-accent: #fff;
  --warn: #8a3b00;
  --bad: #b42318;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #101216;
    --surface: #191c22;
    --ink: #eceef2;
    --muted: #a6adba;
    --line: #333843;
    --field: #7c8494;
    --accent: #8ab0ff;
    --on-accent: #0b1220;
    --warn: #f5b56b;
    --bad: #ff9a90;
  }
}
*, *::before, *::after { box-sizing: border-box; }
body {
  margin: 0;
  background: var(--ground);
  color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif;
  overflow-wrap: anywhere;
  -webkit-text-size-adjust: 100%;
}
header, main, footer { width: 100%; max-width: 34rem; margin: 0 auto; padding: 0 1rem; }
header { display: flex; align-items: center; gap: .6rem; padding-top: 1.25rem; padding-bottom: 1rem; }
header img { height: 28px; max-width: 8rem; }
header .who { margin-left: auto; color: var(--muted); font-size: .875rem; text-align: right; }
footer { padding-top: 1rem; padding-bottom: 2rem; color: var(--muted); font-size: .875rem; }
main > section, main > form {
  padding: 1.25rem;
  border: 1px solid var(--line);
  border-radius: 12px;
  background: var(--surface);
}
h1 { margin: 0 0 .75rem; font-size: 1.375rem; line-height: 1.25; }
h2 { margin: 1.25rem 0 .25rem; font-size: 1rem; }
p { margin: 0 0 .5rem; }
ul { margin: 0 0 .5rem; padding-left: 1.25rem; }
a { color: var(--accent); }
.app { display: flex; align-items: flex-start; gap: .75rem; margin-bottom: .75rem; }
.app img { width: 56px; height: 56px; border-radius: 12px; object-fit: contain; }
.app p { margin: 0; }
.hint, .error { margin-top: .25rem; }
footer a { margin-right: 1rem; }
.muted, .hint { color: var(--muted); font-size: .875rem; }
.notice { padding: .6rem .8rem; border: 1px solid var(--warn); border-radius: 8px; color: var(--warn); }
.error { color: var(--bad); font-size: .875rem; font-weight: 600; }
.field { margin-top: 1.25rem; }
label { display: block; margin-bottom: .25rem; font-weight: 600; }
input, select {
  width: 100%;
  min-height: 44px;
  padding: .4rem .6rem;
  border: 1px solid var(--field);
  border-radius: 8px;
  background: var(--surface);
  color: var(--ink);
  font: inherit;
}
.buttons { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.5rem; }
button {
  flex: 1 1 10rem;
  min-height: 44px;
  padding: .5rem 1rem;
  border: 1px solid var(--field);
  border-radius: 8px;
  background: var(--surface);
  color: var(--ink);
  font: inherit;
  font-weight: 600;
  cursor: pointer;
}
button.yes { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`
