import { render } from 'preact'
import { App } from './app.js'
import { Guard } from './parts/notice.js'
import './styles/tokens.css'
import './styles/base.css'
import './styles/parts.css'
import './styles/tables.css'
import './styles/pages.css'

render(
  <Guard>
    <App />
  </Guard>,
  document.getElementById('console')!,
)
