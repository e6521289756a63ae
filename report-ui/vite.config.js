// Builds the page into one file, dist/page.html: its style, its script and the hash that lets the script run.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { defineConfig } from "vite";

/** Puts the built script and style into the template, as inline elements. */
function onePage() {
  return {
    name: "one-page",
    enforce: "post",
    generateBundle(_options, bundle) {
      const files = Object.values(bundle);
      const chunk = files.find((file) => file.type === "chunk");
      const style = files.find((file) => file.fileName.endsWith(".css"));
      // Inside a script element these two sequences would end or comment it.
      const code = chunk.code.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
      const hash = createHash("sha256").update(code).digest("base64");
      const page = readFileSync("template.html", "utf8")
        .replace("__HASH__", () => hash)
        .replace("__STYLE__", () => String(style.source).trim())
        .replace("__SCRIPT__", () => code);
      for (const name of Object.keys(bundle)) delete bundle[name];
      this.emitFile({ type: "asset", fileName: "page.html", source: page });
    },
  };
}

export default defineConfig({
  build: {
    outDir: "dist",
    emptyOutDir: true,
    cssCodeSplit: false,
    target: "es2022",
    // Browsers that know light-dark(); for older ones it would be rewritten so that the theme switch has no hold on it.
    cssTarget: ["chrome123", "edge123", "firefox120", "safari17.5"],
    rollupOptions: {
      input: "src/main.ts",
      output: { format: "iife", entryFileNames: "page.js", assetFileNames: "page[extname]" },
    },
  },
  plugins: [onePage()],
});
