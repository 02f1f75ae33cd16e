/**
 * What a browser gets that comes with the token in its address: a page that keeps its secret for the desk's own page,
 * and leads there, so that the token is in no address any more.
 */
import { SECRET_NAME } from './secret.ts'

/** Where the script of that page is: it is a file, since the page's policy takes no other. */
export const ENTRANCE_SCRIPT = '/enter.js'

/** The secret has no characters that mean anything in HTML. */
export const entrancePage = (secret: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<meta name="${SECRET_NAME}" content="${secret}">
<title>Forge</title>
<link rel="icon" href="data:,">
<script type="module" src="${ENTRANCE_SCRIPT}"></script>
</head>
<body><noscript>The desk needs JavaScript: allow it for this address.</noscript></body>
</html>
`

export const ENTRANCE = `const { content } = document.querySelector('meta[name="${SECRET_NAME}"]')
localStorage.setItem('${SECRET_NAME}', content)
location.replace('/')
`
