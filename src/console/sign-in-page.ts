/** The page that a one-time link opens. Its script sends the secret and removes it from the history. */
export const SIGN_IN_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sign in</title>
<link rel="stylesheet" href="sign-in.css">
<script type="module" src="sign-in.js"></script>
</head>
<body>
<main>
<h1>Sign in</h1>
<p id="message" role="status">Signing in …</p>
<noscript><p>The console needs JavaScript.</p></noscript>
</main>
</body>
</html>
`

export const SIGN_IN_SCRIPT = `const secret = location.hash.slice(1)
history.replaceState(null, '', location.pathname)
const message = document.getElementById('message')
try {
  const response = await fetch('sign-in', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ secret }),
  })
  if (response.ok) location.replace('./')
  else message.textContent = (await response.json()).error.message
} catch {
  message.textContent = 'The server cannot be reached. Is it running?'
}
`

export const SIGN_IN_STYLE = `body { margin: 0; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 34rem; margin: 20vh auto 0; padding: 0 1.5rem; }
h1 { font-size: 1.25rem; }
`
